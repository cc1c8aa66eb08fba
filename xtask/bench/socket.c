/* A bare loop of socket(2), bind(2) and close(2), against which osdyno's own figures are held. Every call is
 * timed between two readings of the clock; prints the median of each in nanoseconds, n from 100 on.
 * Build: cc -O2. Arguments: the processor to be pinned to, and how many sockets. */
#include "loop.h"
#include <netinet/in.h>
#include <sys/socket.h>

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments != 3) return 2;
    int count = atoi(arguments[2]);
    prepare(atoi(arguments[1]));
    uint64_t *made = calloc(count, sizeof *made), *bound = calloc(count, sizeof *bound);
    int *sockets = calloc(count, sizeof *sockets);
    if (!made || !bound || !sockets || count <= COLD) return 1;
    /* Touched before they are timed. */
    for (int n = 0; n < count; n++) made[n] = bound[n] = sockets[n] = 1;

    begin();
    uint64_t last = ticks();
    for (int n = 0; n < count; n++) {
        check(sockets[n] = socket(AF_INET, SOCK_STREAM, 0), "socket");
        uint64_t now = ticks();
        made[n] = now - last;
        last = now;
    }
    struct sockaddr_in any = {.sin_family = AF_INET};
    last = ticks();
    for (int n = 0; n < count; n++) {
        check(bind(sockets[n], (struct sockaddr *)&any, sizeof any), "bind");
        uint64_t now = ticks();
        bound[n] = now - last;
        last = now;
    }
    double length = ns_per_tick();
    printf("%.2f %.2f\n", median(made, count) * length, median(bound, count) * length);
    return 0;
}
