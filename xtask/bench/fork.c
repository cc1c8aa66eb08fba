/* The experiment of 2003 as its author described it: fork children that write one byte and stay, then kill
 * and reap them, oldest first. Prints the medians of both in nanoseconds, n from 100 on.
 * Build: cc -O2, and the same with -static. Arguments: the processor to be pinned to, and how many. */
#include "loop.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The children do not outlive it, also where a call fails. */
static void end_children(void) {
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments != 3) return 2;
    int count = atoi(arguments[2]);
    setpgid(0, 0);
    prepare(atoi(arguments[1]));

    uint64_t *forked = calloc(count, sizeof *forked), *reaped = calloc(count, sizeof *reaped);
    pid_t *children = calloc(count, sizeof *children);
    int hello[2];
    if (!forked || !reaped || !children || count <= COLD) return 1;
    check(pipe(hello), "pipe");
    atexit(end_children);
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
        /* So many live on. */
        reaped[count - 1 - n] = now_ns() - begun;
    }
    printf("%.2f %.2f\n", median(forked, count), median(reaped, count));
    return 0;
}
