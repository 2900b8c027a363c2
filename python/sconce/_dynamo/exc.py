"""Exceptions of compilation."""

from ..compiler._errors import (BackendCompilerFailed, FailOnRecompileLimitHit, InternalTorchDynamoError,  # noqa: F401
                                InvalidBackend, RecompileError, ResetRequired, TorchDynamoException, Unsupported, UserError)
