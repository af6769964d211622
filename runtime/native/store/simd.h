// Selects the vector width for element-wise loops at run time: the operations and their order are the same, so results
// are bit-equal.
#pragma once

// Another level needs its bit in cpu_model.cc, else Clang never chooses it.
// Sanitizers instrument the resolver, which runs before they are ready.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && (!defined(__clang__) || __clang_major__ >= 14)
#define RECMIGRATE_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define RECMIGRATE_VECTOR_CLONES
#endif

// Before a loop over columns: what it writes, no other turn of it reads. Without this GCC compares the pointers of
// every row, which for rows of few columns takes as long as the row, whatever __restrict says of variables in a block.
#ifdef __clang__
#define RECMIGRATE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RECMIGRATE_INDEPENDENT _Pragma("GCC ivdep")
#endif

// For functions called from such a function, which must be compiled with the caller's vector width.
#define RECMIGRATE_INLINE inline __attribute__((always_inline))
// The same for a lambda, after its parameters.
#define RECMIGRATE_INLINED __attribute__((always_inline))
