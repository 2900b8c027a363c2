"""Substitutes for heapq: heaps of elements whose order is decided in Python."""

import heapq

from . import substitute


def _down(heap, start, position):
    item = heap[position]
    while position > start:
        parent = (position - 1) >> 1
        if not item < heap[parent]:
            break
        heap[position] = heap[parent]
        position = parent
    heap[position] = item


def _up(heap, position):
    end, start = len(heap), position
    item = heap[position]
    child = 2 * position + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[position] = heap[child]
        position = child
        child = 2 * position + 1
    heap[position] = item
    _down(heap, start, position)


def _list(heap, function):
    if not isinstance(heap, list):
        raise TypeError(f"{function}() argument 1 must be list, not {type(heap).__name__}" if function != "heapify"
                        else f"heapify() argument must be list, not {type(heap).__name__}")


@substitute(heapq.heappush)
def heappush(heap, item, /):
    _list(heap, "heappush")
    heap.append(item)
    _down(heap, 0, len(heap) - 1)


@substitute(heapq.heappop)
def heappop(heap, /):
    if not isinstance(heap, list):
        return heapq.heappop(heap)  # refuses
    if not heap:
        return heapq.heappop(heap)  # refuses
    last = heap.pop()
    if not heap:
        return last
    item = heap[0]
    heap[0] = last
    _up(heap, 0)
    return item


@substitute(heapq.heapreplace)
def heapreplace(heap, item, /):
    _list(heap, "heapreplace")
    if not heap:
        return heapq.heapreplace(heap, item)  # refuses
    first = heap[0]
    heap[0] = item
    _up(heap, 0)
    return first


@substitute(heapq.heappushpop)
def heappushpop(heap, item, /):
    _list(heap, "heappushpop")
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _up(heap, 0)
    return item


@substitute(heapq.heapify)
def heapify(heap, /):
    if not isinstance(heap, list):
        return heapq.heapify(heap)  # refuses
    for i in range(len(heap) // 2 - 1, -1, -1):
        _up(heap, i)
