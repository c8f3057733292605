// SQLite for code that is compiled twice: linked into the program, and into the loadable extension, where every call must go through
// the routines of the program that loads it. Each form has a namespace of its own, so that both can stand in one binary.
#pragma once

#ifdef FAULTLINE_LOADABLE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#define FAULTLINE_SQLITE_FORM loaded
#else
#include <sqlite3.h>
#define FAULTLINE_SQLITE_FORM linked
#endif
