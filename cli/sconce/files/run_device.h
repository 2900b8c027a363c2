// --device: where a program runs. Its parameters, buffers and inputs are moved there before the first call.
#pragma once

#include <string>

#include "sconce/tensor/device.h"
#include "text/call_text.h"
#include "text/options.h"

namespace sconce::cli {

class ModelFile;

void add_device_option(App command, std::string& device);

// "cpu", "cuda", "cuda:1" with its number. Throws UsageError for other words, and Error with the reason when the device
// cannot be used.
Device chosen_device(const std::string& text);

// Moves a program and its inputs. Throws Error that names all operators of the program that have no kernel there.
void move_to_device(const ModelFile& model, CallValues& inputs, Device device);
void move_inputs(CallValues& inputs, Device device);

// Where a program that was loaded runs: `chosen`, or where a compiled file belongs if the option's text is empty.
// Throws UsageError for a compiled file that belongs elsewhere.
Device device_of_program(const ModelFile& model, const std::string& text, Device chosen);

// Waits until the device has done what it was asked to.
void wait_for_device(Device device);

}  // namespace sconce::cli
