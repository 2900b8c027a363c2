// Training: optimisers, learning-rate schedules, gradient clipping. See docs/training.md.
#pragma once

#include "sconce/api/autograd.h"
#include "sconce/optim/clip_grad.h"
#include "sconce/optim/optimizers.h"
#include "sconce/optim/schedulers.h"
