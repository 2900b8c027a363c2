"""A worker process of WorkerPool: `python -m sconce.engines.worker FILE_DESCRIPTOR`.

Over the socket it gets an ArrayModel and says what it takes, or why it cannot be loaded. Then each message is a list of requests, and each
answer the list that ArrayModel.run_together gives. It ends when the socket is closed: with the process that started it."""

import sys
from multiprocessing.connection import Connection


def _answer(requests, model):
    """Exceptions as themselves, where they can be pickled."""
    import pickle
    answers = model.run_together(requests)
    for number, answer in enumerate(answers):
        if isinstance(answer, Exception):
            try:
                pickle.loads(pickle.dumps(answer))
            except Exception:  # of a class with other arguments, or of an extension
                answers[number] = RuntimeError(f"{type(answer).__name__}: {answer}")
    return answers


def main():
    socket = Connection(int(sys.argv[1]))
    model = socket.recv()
    try:
        model.load()
    except Exception as error:
        socket.send((None, f"{type(error).__name__}: {error}"))
        return
    socket.send((model.inputs, None))
    try:
        while True:
            socket.send(_answer(socket.recv(), model))
    except (EOFError, ConnectionError, KeyboardInterrupt):
        pass


if __name__ == "__main__":
    main()
