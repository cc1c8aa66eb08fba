/* The experiment of 2003 as its author described it: fork children that write one byte and stay, then kill
 * and reap them, oldest first. Prints the medians of both in nanoseconds, n from 100 on.
 * Build: cc -O2, and the same with -static. Arguments: the processor to be pinned to, and how many. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COLD = 100 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *elapsed, int count) {
    qsort(elapsed, count, sizeof *elapsed, compare);
    return elapsed[count / 2];
}

static void check(int result, const char *what) {
    if (result < 0) {
        perror(what);
        kill(0, SIGKILL);
    }
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments != 3) return 2;
    int count = atoi(arguments[2]);
    setpgid(0, 0);
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(atoi(arguments[1]), &processors);
    check(sched_setaffinity(0, sizeof processors, &processors), "sched_setaffinity");

    double *forked = calloc(count, sizeof *forked), *reaped = calloc(count, sizeof *reaped);
    pid_t *children = calloc(count, sizeof *children);
    int hello[2];
    if (!forked || !reaped || !children) return 1;
    check(pipe(hello), "pipe");
    for (int n = 0; n < count; n++) {
        char byte;
        double begun = now_ns();
        check(children[n] = fork(), "fork");
        if (children[n] == 0) {
            if (write(hello[1], ".", 1) != 1) _exit(1);
            close(hello[1]);
            sleep(300);
            _exit(0);
        }
        check(read(hello[0], &byte, 1) - 1, "read");
        forked[n] = now_ns() - begun;
    }
    for (int n = 0; n < count; n++) {
        double begun = now_ns();
        check(kill(children[n], SIGTERM), "kill");
        check(waitpid(children[n], NULL, 0), "waitpid");
        reaped[n] = now_ns() - begun;
    }
    printf("%.2f %.2f\n", median(forked + COLD, count - COLD), median(reaped, count - COLD));
    return 0;
}
