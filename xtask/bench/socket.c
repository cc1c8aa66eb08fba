/* A bare loop of socket(2), bind(2) and close(2), against which osdyno's own figures are held. Every call is
 * timed between two readings of the clock; prints the median of each in nanoseconds, n from 100 on.
 * Build: cc -O2. Arguments: the processor to be pinned to, and how many sockets. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { COLD = 100 };

#if defined(__x86_64__)
#include <x86intrin.h>
static unsigned long long ticks(void) {
    unsigned processor;
    return __rdtscp(&processor);
}
#else
static unsigned long long ticks(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ULL + time.tv_nsec;
}
#endif

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    unsigned long long left = *(const unsigned long long *)a, right = *(const unsigned long long *)b;
    return (left > right) - (left < right);
}

static double median(unsigned long long *elapsed, int count) {
    qsort(elapsed + COLD, count - COLD, sizeof *elapsed, compare);
    return (double)elapsed[COLD + (count - COLD) / 2];
}

static void check(int result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments != 3) return 2;
    int count = atoi(arguments[2]);
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(atoi(arguments[1]), &processors);
    check(sched_setaffinity(0, sizeof processors, &processors), "sched_setaffinity");
    struct rlimit limit;
    check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");

    unsigned long long *made = calloc(count, sizeof *made), *bound = calloc(count, sizeof *bound);
    int *sockets = calloc(count, sizeof *sockets);
    if (!made || !bound || !sockets) return 1;
    /* Touched before they are timed. */
    for (int n = 0; n < count; n++) made[n] = bound[n] = sockets[n] = 1;

    double begun_ns = now_ns();
    unsigned long long begun = ticks(), last = begun;
    for (int n = 0; n < count; n++) {
        check(sockets[n] = socket(AF_INET, SOCK_STREAM, 0), "socket");
        unsigned long long now = ticks();
        made[n] = now - last;
        last = now;
    }
    struct sockaddr_in any = {.sin_family = AF_INET};
    last = ticks();
    for (int n = 0; n < count; n++) {
        check(bind(sockets[n], (struct sockaddr *)&any, sizeof any), "bind");
        unsigned long long now = ticks();
        bound[n] = now - last;
        last = now;
    }
    /* The rate of the ticks, over at least 10 ms. */
    while (now_ns() - begun_ns < 1e7) {}
    double ns_per_tick = (now_ns() - begun_ns) / (double)(ticks() - begun);
    printf("%.2f %.2f\n", median(made, count) * ns_per_tick, median(bound, count) * ns_per_tick);
    return 0;
}
