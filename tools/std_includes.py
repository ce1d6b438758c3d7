"""Which headers of the standard library and of fmt a file has need of, and does not have, by the names that it uses: since
tools/tidy.py compiles sources alone with all of these headers there, which takes half of the time, and since what one
standard library's headers bring along, another's need not. A file has what it includes, and what headers of the tree do that
it includes. (include-what-you-use, and clang-tidy from 17 on, know more names, but parse each source whole, which is the time
that was to be saved.)"""

import re

INCLUDE = re.compile(r'^\s*#\s*include\s*<([a-z_]+|fmt/[a-z]+\.h)>', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
NAME = re.compile(r"\b(?:std|(fmt))::(?:(chrono|filesystem|numbers|pmr|ranges|this_thread)::)?(\w+)")

# Names by header: those that only one header has. A name that is in no table is not looked at.
NAMES = {
    "algorithm": "adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count_if equal equal_range "
                 "fill fill_n find_if find_if_not find_end generate includes inplace_merge is_permutation is_sorted "
                 "lexicographical_compare lower_bound make_heap max max_element merge min min_element minmax minmax_element "
                 "mismatch next_permutation none_of nth_element partial_sort partition partition_point pop_heap push_heap "
                 "remove_if replace reverse rotate search shuffle sort sort_heap stable_partition stable_sort transform "
                 "unique upper_bound",
    "any": "any any_cast",
    "array": "array to_array",
    "atomic": "atomic atomic_bool atomic_flag atomic_ref atomic_signal_fence atomic_thread_fence memory_order "
              "memory_order_acq_rel memory_order_acquire memory_order_relaxed memory_order_release memory_order_seq_cst",
    "barrier": "barrier",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_one countl_zero countr_one countr_zero endian has_single_bit "
           "popcount rotl rotr",
    "bitset": "bitset",
    "charconv": "chars_format from_chars from_chars_result to_chars to_chars_result",
    "compare": "partial_ordering strong_ordering weak_ordering",
    "complex": "complex",
    "concepts": "convertible_to derived_from floating_point integral invocable regular same_as signed_integral "
                "unsigned_integral",
    "condition_variable": "condition_variable condition_variable_any",
    "coroutine": "coroutine_handle coroutine_traits noop_coroutine suspend_always suspend_never",
    "deque": "deque",
    "exception": "current_exception exception_ptr make_exception_ptr rethrow_exception set_terminate terminate "
                 "uncaught_exceptions",
    "fstream": "fstream ifstream ofstream",
    "functional": "bit_and bit_or bit_xor divides equal_to function greater invoke less minus mem_fn modulus multiplies "
                  "plus reference_wrapper ref cref",
    "future": "async future promise",
    "iostream": "cerr cin cout",
    "iterator": "advance back_inserter istream_iterator istreambuf_iterator ssize",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "addressof allocator construct_at default_delete destroy destroy_at enable_shared_from_this make_shared "
              "make_unique shared_ptr uninitialized_copy unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "new": "align_val_t bad_alloc launder nothrow",
    "numeric": "accumulate exclusive_scan gcd inclusive_scan inner_product iota lcm partial_sum reduce",
    "optional": "nullopt optional",
    "queue": "priority_queue queue",
    "random": "mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution",
    "ratio": "micro milli ratio",
    "semaphore": "counting_semaphore",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex",
    "source_location": "source_location",
    "span": "as_bytes as_writable_bytes dynamic_extent span",
    "sstream": "istringstream ostringstream stringstream",
    "stack": "stack",
    "stdexcept": "invalid_argument logic_error out_of_range runtime_error",
    "stop_token": "stop_callback stop_source stop_token",
    "string": "char_traits getline stod stoi stol stoul stoull string to_string u16string u8string wstring",
    "string_view": "string_view",
    "system_error": "errc error_category error_code error_condition generic_category is_error_code_enum make_error_code "
                    "system_category system_error",
    "thread": "jthread thread",
    "tuple": "apply forward_as_tuple ignore make_tuple tie tuple tuple_cat",
    "type_traits": "add_const_t add_pointer_t alignment_of common_type_t conditional_t conjunction_v decay_t disjunction_v "
                   "enable_if_t false_type has_unique_object_representations_v integral_constant invoke_result_t is_array_v "
                   "is_assignable_v is_base_of_v is_const_v is_constructible_v is_convertible_v is_copy_constructible_v "
                   "is_default_constructible_v is_empty_v is_enum_v is_floating_point_v is_function_v is_integral_v "
                   "is_invocable_r_v is_invocable_v is_lvalue_reference_v is_move_constructible_v "
                   "is_nothrow_move_constructible_v is_pointer_v is_reference_v is_same is_same_v is_signed_v "
                   "is_standard_layout_v is_trivially_copyable_v is_trivially_destructible_v is_unsigned_v is_void_v "
                   "make_signed_t make_unsigned_t remove_const_t remove_cv_t remove_cvref_t remove_pointer_t "
                   "remove_reference_t true_type type_identity_t underlying_type_t void_t",
    "typeinfo": "type_info",
    "typeindex": "type_index",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "as_const cmp_less declval exchange forward in_place in_place_type in_range index_sequence make_pair pair "
               "piecewise_construct unreachable",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
C_NAMES = {
    "cmath": "acos asin atan ceil cos exp exp2 floor fmod hypot isfinite isinf isnan ldexp log log10 log2 lround pow round "
             "sin sqrt tan trunc",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t to_integer",
    "cstdint": "int16_t int32_t int64_t int8_t intptr_t uint16_t uint32_t uint64_t uint8_t uintptr_t",
    "cstdio": "FILE fclose fflush fgets fopen fprintf fputc fputs fread fseek fwrite perror printf putchar puts rename "
              "snprintf",
    "cstdlib": "_Exit abort aligned_alloc atexit atoi calloc exit free getenv malloc quick_exit realloc strtod strtol strtoul "
               "strtoull system",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strstr",
    "csignal": "raise sig_atomic_t signal",
    "ctime": "gmtime localtime strftime time time_t timespec tm",
}
# Names of several headers, the usual one first.
SHARED = {
    "abs": "cmath cstdlib",
    "exception": "exception stdexcept new",
    "erase_if": "vector map set deque string unordered_map unordered_set list",
    "get": "tuple utility array variant",
    "hash": "functional string string_view memory optional variant vector bitset thread system_error typeindex coroutine",
    "move": "utility algorithm",
    "nano": "ratio chrono",
    "remove": "algorithm cstdio",
    "size_t": "cstddef cstdint cstdio cstdlib cstring ctime",
    "swap": "utility algorithm memory vector string",
    "tuple_element_t": "tuple utility array",
    "tuple_size_v": "tuple utility array",
}
SHARED |= dict.fromkeys(("begin", "end", "size", "data", "next", "prev"),
                        "iterator array string string_view vector map set span deque list unordered_map")
FMT = ("fmt/format.h", "fmt/core.h", "fmt/ranges.h", "fmt/chrono.h")
# Namespaces of std, and the headers that have their names.
NAMESPACES = {"chrono": "chrono", "filesystem": "filesystem", "numbers": "numbers", "pmr": "memory_resource",
              "ranges": "algorithm ranges", "this_thread": "thread"}


def headers():
    """Those that are known here, by name."""
    return sorted({*NAMES, *C_NAMES, "chrono", "filesystem", "memory_resource", "ranges", *FMT[:2]})


def headers_by_name():
    """{name: the headers that have it, the usual one first}."""
    table = {name: [header] for header, names in (NAMES | C_NAMES).items() for name in names.split()}
    return table | {name: headers.split() for name, headers in SHARED.items()}


def headers_of(includes, texts):
    """{file: the standard library's headers that it includes, or one of the tree's does that it includes}."""
    direct = {file: set(INCLUDE.findall(text)) for file, text in texts.items()}
    known = {}

    def reach(file):
        if file not in known:
            known[file] = set(direct[file])  # circles are complained of elsewhere
            for _, target in includes[file]:
                known[file] |= reach(target)
        return known[file]

    return {file: reach(file) for file in texts}


def complaints(includes, texts):
    table = headers_by_name()
    reached = headers_of(includes, texts)
    for file, text in texts.items():
        if not file.endswith("pp"):
            continue  # C
        code = COMMENT_OR_TEXT.sub(lambda match: "\n" * match[0].count("\n"), text)
        told = set()
        for number, line in enumerate(code.splitlines(), 1):
            for fmt, namespace, name in NAME.findall(line):
                wanted = FMT if fmt else NAMESPACES[namespace].split() if namespace else table.get(name, [])
                if wanted and wanted[0] not in told and not reached[file].intersection(wanted):
                    told.add(wanted[0])
                    yield f"{file}:{number}: {fmt or 'std'}::{name} is of <{wanted[0]}>, which is not included"
