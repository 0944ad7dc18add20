// Found before protobuf's own header of this name when ThreadSanitizer is on. There protobuf gives
// maps two more fields when __SANITIZE_THREAD__ is defined; the packaged library is built without
// them, and must find maps as it knows them.
#pragma once
#pragma GCC system_header

#include <memory>  // the standard library decides by the same macro, with its first header

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
