"""Process group: the processes that one mpirun started, and what a reduction over them computes."""

import enum


class ReduceOp(enum.Enum):
    """What a reduction computes of the processes' elements. AVG is a sum that is divided once."""

    SUM = "SUM"
    AVG = "AVG"
    PRODUCT = "PROD"
    MIN = "MIN"
    MAX = "MAX"
    BAND = "BAND"
    BOR = "BOR"
    BXOR = "BXOR"


class group:
    """Names of groups. There is one."""

    WORLD = "WORLD"


class GroupMember:
    """The same under its older name."""

    WORLD = group.WORLD


_communicator = None


def communicator(wanted=None):
    """mpi4py's communicator of the group."""
    if _communicator is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if wanted not in (None, group.WORLD):
        raise ValueError(f"there is only the group of all processes (group.WORLD, or None); given: {wanted!r}")
    return _communicator


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None):
    """Joins the group of all processes that mpirun started. MPI itself knows their number and this one's."""
    global _communicator
    if _communicator is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if backend not in (None, "mpi"):
        raise ValueError(f"Invalid backend: '{backend}'. Sconce talks through 'mpi' (processes started by mpirun)")
    given = {"init_method": init_method, "timeout": timeout, "store": store, "group_name": group_name or None,
             "pg_options": pg_options, "device_id": device_id}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"init_process_group: {name} has no meaning for the backend 'mpi'; leave it out")
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise RuntimeError(f"init_process_group needs mpi4py and an MPI (Debian: python3-mpi4py, openmpi-bin): {error}") from error
    world = MPI.COMM_WORLD
    if world_size not in (-1, world.Get_size()) or rank not in (-1, world.Get_rank()):
        raise ValueError(f"init_process_group: world_size {world_size} and rank {rank} were given, but MPI has "
                         f"{world.Get_size()} processes and this is {world.Get_rank()}")
    _communicator = world.Dup()  # messages of the program's own use of MPI are kept apart


def destroy_process_group(group=None):
    """Leaves the group: all processes have to."""
    global _communicator
    communicator(group).Free()
    _communicator = None


def is_initialized():
    """Whether this process is in a group."""
    return _communicator is not None


def get_backend(group=None):
    """'mpi'."""
    communicator(group)
    return "mpi"


def get_rank(group=None):
    """Which of the processes this is; 0 without a group: the only one."""
    return communicator(group).Get_rank() if _communicator is not None else 0


def get_world_size(group=None):
    """How many processes there are; 1 without a group."""
    return communicator(group).Get_size() if _communicator is not None else 1
