#include "server/run/code_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sconce::server {

size_t give_back_code() noexcept {
  size_t given = 0;
  // Segments that are never written have the file's own pages alone. (What the linker relocates is in others.)
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* sum) {
        const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& p = info->dlpi_phdr[i];
          if (p.p_type != PT_LOAD || (p.p_flags & PF_W)) continue;
          const ElfW(Addr) begin = (info->dlpi_addr + p.p_vaddr) / page * page;
          const ElfW(Addr) end =
              (info->dlpi_addr + p.p_vaddr + p.p_memsz) / page * page;  // another may begin in the last
          if (end > begin && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0)
            *static_cast<size_t*>(sum) += end - begin;
        }
        return 0;
      },
      &given);
  return given;
}

}  // namespace sconce::server
