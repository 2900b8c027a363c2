// CPU feature detection beside levels (cpu_level.h): instructions that some processors of a level have.
#pragma once

namespace sconce {

// False on other architectures. Asked once by whoever chooses a loop: CPUID is slow.
bool cpu_has_avx2();         // and FMA: x86-64-v3, whatever SCONCE_CPU_LEVEL says
bool cpu_multiplies_bf16();  // AVX512_BF16, FEAT_BF16
bool cpu_has_avx512_vnni();
bool cpu_has_avx_vnni();

}  // namespace sconce
