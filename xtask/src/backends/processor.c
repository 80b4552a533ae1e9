// A processor with fewer vector instructions for one process, on Linux and x86-64: loaded by LD_PRELOAD, MCSA_UNIT names its unit.
//
// The instruction CPUID, by which programs ask for what the processor can, is made to fault (arch_prctl, ARCH_SET_CPUID). The
// handler carries it out and takes the bits of missing units from the answer. Code that is run is run at full speed.

#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012, NO_FAULTS = 77 };

// True for SSE2, false for AVX2 with FMA.
static int is_sse2;

// Whether CPUID may be executed by this thread; 0 on success.
static long permit(long yes) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, yes); }

static void answer(int number, siginfo_t *info, void *context) {
    (void)info;
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)g[REG_RIP];
    if (code[0] != 0x0f || code[1] != 0xa2) { // another fault: it comes again, without this handler
        signal(number, SIG_DFL);
        return;
    }
    unsigned leaf = (unsigned)g[REG_RAX], part = (unsigned)g[REG_RCX], a, b, c, d;
    permit(1);
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(part));
    permit(0);
    if (leaf == 1 && is_sse2)
        c &= ~(1u << 12 | 1u << 28 | 1u << 29); // FMA, AVX, F16C
    if (leaf == 7 && part == 0) {
        b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31); // AVX-512
        c &= ~(1u << 1 | 1u << 6 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 14); // its extensions
        d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25); // and AMX
        if (is_sse2)
            b &= ~(1u << 3 | 1u << 5 | 1u << 8); // BMI1, AVX2, BMI2
    }
    if ((leaf == 7 && part == 1) || leaf == 0x24)
        a = b = c = d = 0; // what came after AVX2
    g[REG_RAX] = a, g[REG_RBX] = b, g[REG_RCX] = c, g[REG_RDX] = d, g[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void) {
    const char *unit = getenv("MCSA_UNIT");
    if (!unit)
        return;
    is_sse2 = !strcmp(unit, "sse2");
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if ((!is_sse2 && strcmp(unit, "avx2")) || sigaction(SIGSEGV, &action, NULL) || permit(0))
        _exit(NO_FAULTS);
}
