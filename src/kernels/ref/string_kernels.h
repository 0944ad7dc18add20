// The pieces of the string family.
#pragma once

#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace carillon {

// Input `i`, a string scalar. InvalidArgument, naming `what`, when it has dimensions.
StatusOr<std::string> ScalarString(const KernelContext& context, int i, std::string_view what);

// The bytes of a UTF-8 character after the first.
inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

void AddStringSplitKernels(KernelTable& table);
void AddStringSubstrKernels(KernelTable& table);
void AddStringNumberKernels(KernelTable& table);
void AddStringReduceKernels(KernelTable& table);
void AddStringRegexKernels(KernelTable& table);
void AddStringEncodeKernels(KernelTable& table);  // hashes and base64

}  // namespace carillon
