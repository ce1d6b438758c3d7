// What public headers need of <chrono> (durations, clocks), <ranges> (its concepts) and <functional> (plus, multiplies,
// ref). libstdc++ keeps just that in headers of its own, without calendars, views and searchers, which would be a third
// of what a small program compiles.
#pragma once

#if __has_include(<bits/chrono.h>) && __has_include(<bits/ranges_base.h>) && __has_include(<bits/refwrap.h>) && \
    __has_include(<bits/stl_function.h>)
#include <bits/chrono.h>
#include <bits/ranges_base.h>
#include <bits/refwrap.h>
#include <bits/stl_function.h>
#else
#include <chrono>
#include <functional>
#include <ranges>
#endif
