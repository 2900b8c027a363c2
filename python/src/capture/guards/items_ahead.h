// Items that iterators of C are going to give, looked at without moving them.
//
// Note [Items ahead]
// A loop that breaks leaves its iterator on the stack, and the function that goes on behind the break is given it. What it
// takes from there are items ahead: Step::ahead with how many come before. The iterator itself moves when all sources were
// fetched and before anything is written, so that a later write to what it goes through finds it where it would be.
#pragma once

#include <cstdint>
#include <vector>

#include "object.h"

namespace sconce::python::capture {

// Iterators of lists, tuples, texts, bytes, ranges, dicts and sets, reversed() of such, and enumerate and zip of these.
bool has_items_ahead(PyObject* iterator);
// The iterators that an enumerate or zip takes from; empty for others.
std::vector<Owned> inner_iterators(PyObject* iterator);
// What an iterator goes through; empty for enumerate and zip, for those of dicts and sets, which do not tell, and at the end.
Owned iterated(PyObject* iterator);
// Does it go through a dict or set, which it does not name?
bool goes_through_keys(PyObject* iterator);
// The item with so many others before it; empty: the iterator ends before. Throws PythonError.
Owned item_ahead(PyObject* iterator, Py_ssize_t before);
// Moves an iterator by so many calls, the one that finds the end among them. Throws PythonError.
void move_iterator(PyObject* iterator, Py_ssize_t calls);

}  // namespace sconce::python::capture
