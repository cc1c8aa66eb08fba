/* The calls of small-files/warm and nothing else: creates, writes and reads back COUNT files of KIB KiB in DIR, and
   removes them in the same order. Prints mean seconds for one file: all six calls, the one that creates, the one that
   removes, and the one that creates in two more passes: after stat(2) has looked for the name, as in fio, and with names
   of 40 bytes, as in fs_mark. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *call)
{
    perror(call);
    exit(1);
}

static const char SHORT[] = "%s/new-%ld", LONG[] = "%s/a-name-of-forty-bytes-for-file-%09ld";

static void name(char *path, const char *folder, const char *form, long number)
{
    snprintf(path, 4096, form, folder, number);
}

static int create(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) fail("open");
    return file;
}

/* Removes them in the order of their numbers; the seconds that it took. */
static double remove_all(const char *folder, const char *form, long files)
{
    char path[4096];
    double elapsed = 0;
    for (long i = 0; i < files; i++) {
        name(path, folder, form, i);
        double begun = now();
        if (unlink(path)) fail("unlink");
        elapsed += now() - begun;
    }
    return elapsed;
}

int main(int count, char **words)
{
    if (count != 4) {
        fprintf(stderr, "usage: files DIR COUNT KIB\n");
        return 2;
    }
    long files = atol(words[2]);
    size_t bytes = (size_t)atol(words[3]) << 10;
    char *written = malloc(bytes), *back = malloc(bytes), path[4096];
    srandom(1);
    for (size_t i = 0; i < bytes; i++) written[i] = (char)random();

    double elapsed = 0, creating = 0, removing = 0;
    for (long i = 0; i < files; i++) {
        name(path, words[1], SHORT, i);
        memcpy(written, &i, sizeof i);
        double begun = now();
        int file = create(path);
        creating += now() - begun;
        if (write(file, written, bytes) != (ssize_t)bytes) fail("write");
        close(file);
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) fail("open");
        if (read(file, back, bytes) != (ssize_t)bytes) fail("read");
        close(file);
        elapsed += now() - begun;
        if (memcmp(written, back, bytes)) fail("what was read differs");
    }
    removing = remove_all(words[1], SHORT, files);
    double found = 0, longer = 0;
    for (long i = 0; i < files; i++) {
        name(path, words[1], SHORT, i);
        struct stat status;
        if (!stat(path, &status)) fail("a name that should be free");
        double begun = now();
        int file = create(path);
        found += now() - begun;
        close(file);
    }
    remove_all(words[1], SHORT, files);
    for (long i = 0; i < files; i++) {
        name(path, words[1], LONG, i);
        double begun = now();
        int file = create(path);
        longer += now() - begun;
        if (write(file, written, bytes) != (ssize_t)bytes) fail("write");
        close(file);
    }
    remove_all(words[1], LONG, files);
    printf("total %.9f\ncreate %.9f\nunlink %.9f\nfound %.9f\nlong %.9f\n", elapsed / files, creating / files,
           removing / files, found / files, longer / files);
    return 0;
}
