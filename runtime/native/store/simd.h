// Run-time choice of the vector width for element-wise loops: the same operations in the same order, so the same bits.
#pragma once

// Sanitizers instrument the resolver, which runs before they are ready.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && (!defined(__clang__) || __clang_major__ >= 14)
#define RECMIGRATE_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define RECMIGRATE_VECTOR_CLONES
#endif

// For the body of such a function: it must be compiled with its caller's vector width.
#define RECMIGRATE_INLINE inline __attribute__((always_inline))
