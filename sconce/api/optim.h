// Optimisers, learning-rate schedules and what else a training loop needs: see docs/training.md.
#pragma once

#include "sconce/api/autograd.h"
#include "sconce/optim/clip_grad.h"
#include "sconce/optim/optimizers.h"
#include "sconce/optim/schedulers.h"
