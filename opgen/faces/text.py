"""Text that all generated files share."""


def banner(family="*"):
    return f"// Generated from ops/{family}.toml by opgen. Do not edit.\n"
