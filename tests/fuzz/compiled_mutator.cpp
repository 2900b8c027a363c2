// Compiled files are zip files of records, and change as archives do.
#include "tests/fuzz/archive_mutator.cpp"
