// The entry point of every fuzz target, called by libFuzzer or by driver_main.cc.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
