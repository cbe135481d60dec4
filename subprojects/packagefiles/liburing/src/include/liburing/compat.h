#ifndef LIBURING_COMPAT_H
#define LIBURING_COMPAT_H

#include <linux/openat2.h>
#include <linux/time_types.h>

#endif
