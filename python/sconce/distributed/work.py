"""Work: a collective that has begun. Its result is in the tensor once it was waited for."""


class Work:
    """A request of MPI and what is done with its buffer in the end."""

    def __init__(self, request, finish):
        self._request, self._finish = request, finish

    def is_completed(self):
        """Whether wait() would return at once."""
        return self._request is None or self._request.Test()

    def wait(self, timeout=None):
        """Waits, then writes the result into the tensor."""
        if timeout is not None:
            raise ValueError("Work.wait: MPI knows no timeout; leave it out")
        if self._request is not None:
            self._request.Wait()
            self._request = None
            self._finish()
        return True
