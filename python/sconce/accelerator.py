"""torch.accelerator: there is none."""


def is_available():
    """False: tensors live on the CPU."""
    return False


def device_count():
    """0."""
    return 0


def current_accelerator(check_available=False):
    """None: tensors live on the CPU."""
    return None
