// PETIOLE_SSE2 is defined where SSE2 is: on every 64-bit x86. Microsoft's compiler has it without saying __SSE2__.
#pragma once

#if defined(__SSE2__) || defined(_M_X64)
#define PETIOLE_SSE2
#include <emmintrin.h>
#endif
