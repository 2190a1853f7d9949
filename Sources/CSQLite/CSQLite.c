// Makes a target for SQLite, which is linked by its name. include/CSQLite.h declares what Callgate uses.
#include "CSQLite.h"
