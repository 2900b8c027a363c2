"""layers.py finds what it is for."""

import unittest

import layers

ORDER = ["sconce/base", "sconce/tensor", "sconce/kernels"]


class Layers(unittest.TestCase):
    def test_reads_the_table(self):
        page = "| folder | what |\n| --- | --- |\n| `sconce/base/` | a |\n| `script/` | b |\n| `sconce/tensor/` | c |\n"
        self.assertEqual(layers.layers(page), ["sconce/base", "sconce/tensor"])

    def test_downwards_is_fine(self):
        self.assertEqual(layers.violations({"sconce/kernels/cpu/a.cpp": '#include "sconce/tensor/t.h"\n'}, ORDER), [])

    def test_upwards_is_not(self):
        found = layers.violations({"sconce/tensor/t.cpp": '#include "sconce/base/b.h"\n#include "sconce/kernels/k.h"\n'}, ORDER)
        self.assertEqual(found, ["sconce/tensor/t.cpp:2: sconce/tensor/ includes sconce/kernels/k.h of sconce/kernels/, "
                                 "which comes later"])

    def test_tests_are_free(self):
        self.assertEqual(layers.violations({"sconce/tensor/t_test.cpp": '#include "sconce/kernels/k.h"\n'}, ORDER), [])

    def test_every_folder_has_a_place(self):
        self.assertEqual(layers.violations({"sconce/new/n.cpp": ""}, ORDER),
                         ["sconce/new/n.cpp: its folder is not in ARCHITECTURE.md's table"])

    def test_kernels_for_any_device_read_no_memory(self):
        text = '#include "sconce/kernels/cpu/engine/iterate.h"\nT* p = t.data<T>();\nf(sizes);  // t.data() is not asked for\n'
        found = layers.host_only({"sconce/kernels/any/a.cpp": text, "sconce/kernels/cpu/a.cpp": text,
                                  "sconce/kernels/any/a_test.cpp": text})
        self.assertEqual([f.split(" in a kernel")[0] for f in found],
                         ["sconce/kernels/any/a.cpp:1: 'sconce/kernels/cpu/'", "sconce/kernels/any/a.cpp:2: 'data<'"])

    def test_counts_files_and_names(self):
        self.assertEqual(layers.crowded([f"sconce/base/{i}.h" for i in range(46)]), ["sconce/base/: 46 files, more than 45"])
        self.assertEqual(layers.namesakes(["sconce/base/a.h", "sconce/tensor/a.h", "sconce/tensor/b.h"]),
                         ["headers of one name: sconce/base/a.h, sconce/tensor/a.h"])


if __name__ == "__main__":
    unittest.main()
