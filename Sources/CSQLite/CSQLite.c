// The library is linked by its name; see include/CSQLite.h for what is used of it.
#include "CSQLite.h"
