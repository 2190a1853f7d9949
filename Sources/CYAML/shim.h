#pragma once
// libyaml, which splits YAML text into events.
#include <yaml.h>
