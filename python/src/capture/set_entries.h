// _PySet_NextEntry, which walks a set without running code of Python: 3.13 still has it but declares it no more.
#pragma once

#include "object.h"

#if PY_VERSION_HEX >= 0x030d0000
extern "C" PyAPI_FUNC(int) _PySet_NextEntry(PyObject* set, Py_ssize_t* position, PyObject** key, Py_hash_t* hash);
#endif
