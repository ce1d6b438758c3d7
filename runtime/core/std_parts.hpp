// What public headers need of <chrono> (durations, clocks), <ranges> (its concepts), <functional> (plus, multiplies,
// ref) and <memory> (unique_ptr, shared_ptr). libstdc++ keeps just that in headers of its own, without calendars,
// views, searchers and parallel algorithms, which would be a third of what a small program compiles.
#pragma once

#include <span>  // and with it what those take for granted

#if __has_include(<bits/chrono.h>) && __has_include(<bits/ranges_base.h>) && __has_include(<bits/refwrap.h>) && \
    __has_include(<bits/stl_function.h>) && __has_include(<bits/unique_ptr.h>) && __has_include(<bits/shared_ptr.h>)
#include <bits/chrono.h>
#include <bits/ranges_base.h>
#include <bits/refwrap.h>
#include <bits/shared_ptr.h>
#include <bits/stl_function.h>
#include <bits/unique_ptr.h>
#else
#include <chrono>
#include <functional>
#include <memory>
#include <ranges>
#endif
