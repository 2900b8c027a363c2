// Weak definitions: code for a dtype or a format, which a small library that was built without it replaces by code that
// refuses it (sconce/lite/without). The linker takes the definition that it meets first. For definitions alone: a weak
// declaration would be content with no definition at all.
#pragma once

#define SCONCE_WEAK __attribute__((weak))
