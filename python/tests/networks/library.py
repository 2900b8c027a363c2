"""Names the library that builds and trains the networks: Sconce, or PyTorch where NETWORKS_LIBRARY=torch."""

import importlib
import os

NAME = os.environ.get("NETWORKS_LIBRARY", "sconce")
torch = importlib.import_module(NAME)
nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
optim = importlib.import_module(f"{NAME}.optim")
