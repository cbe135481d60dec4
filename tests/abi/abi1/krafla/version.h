/* Version of the library; the soname and every package read it from here. */
#ifndef KRAFLA_VERSION_H_
#define KRAFLA_VERSION_H_

#define KRAFLA_VERSION_MAJOR 0
#define KRAFLA_VERSION_MINOR 1
#define KRAFLA_VERSION_PATCH 0

/* The ABI number: programs built against ABI n run with every later library of ABI n. */
#define KRAFLA_ABI 1

/* The number of the canonical arithmetic: equal numbers promise equal bits (docs/architecture.md).
 */
#define KRAFLA_ARITHMETIC 1

#endif /* KRAFLA_VERSION_H_ */
