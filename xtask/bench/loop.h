/* The parts that bare loops share: one processor, all descriptors that are allowed, and a clock of ticks. */
#pragma once
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

/* Calls before this n are left out. */
enum { COLD = 100 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

#if defined(__x86_64__)
#include <x86intrin.h>
static uint64_t ticks(void) {
    unsigned processor;
    return __rdtscp(&processor);
}
#else
static uint64_t ticks(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ULL + time.tv_nsec;
}
#endif

static double begun_ns;
static uint64_t begun_ticks;

static void begin(void) {
    begun_ns = now_ns();
    begun_ticks = ticks();
}

/* The length of a tick, over at least 10 ms. */
static double ns_per_tick(void) {
    while (now_ns() - begun_ns < 1e7) {}
    return (now_ns() - begun_ns) / (double)(ticks() - begun_ticks);
}

static int compare(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* In ticks. */
static double median(uint64_t *elapsed, int count) {
    qsort(elapsed + COLD, count - COLD, sizeof *elapsed, compare);
    return (double)elapsed[COLD + (count - COLD) / 2];
}

static int check(int result, const char *call) {
    if (result < 0) {
        perror(call);
        exit(1);
    }
    return result;
}

static void prepare(int processor) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(processor, &processors);
    check(sched_setaffinity(0, sizeof processors, &processors), "sched_setaffinity");
    struct rlimit limit;
    check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}
