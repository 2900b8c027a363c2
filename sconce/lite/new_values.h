// New containers, where readers and the stack machine make them.
#pragma once

#include "sconce/types/containers.h"
