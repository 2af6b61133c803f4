# Tests of whole programs.
purview_program(purview_breakable_program)
target_compile_definitions(purview_breakable_program PRIVATE PURVIEW_BREAKABLE)
target_sources(purview_breakable_program PRIVATE $<TARGET_OBJECTS:purview_breakable>)

# -- whole programs --------------------------------------------------------------------------------------
set(program $<TARGET_FILE:purview_program>)
set(cli ${CMAKE_CURRENT_SOURCE_DIR}/cli/cli_test.sh)
# A build with sanitizers is not asked how fast it is, so others may run beside it.
set(pace "")
set(serial RUN_SERIAL ON)
if(PURVIEW_SANITIZE)
  set(pace --no-pace)
  set(serial "")
endif()
foreach(case usage bad_world bad_trace bad_map port_in_use open_operator json_streams bots_and_serve guarded bots_move bots_conditions explain rules own_world check_rules with_node generated_map generated_trace)
  add_test(NAME "cli: ${case}" COMMAND sh ${cli} ${case} ${program} ${pace})
  set_tests_properties("cli: ${case}" PROPERTIES TIMEOUT 600 ${serial} LABELS threads)
endforeach()
# 160 clients for the proof in real time: more than the thread sanitizer keeps up with.
set_tests_properties("cli: generated_map" PROPERTIES LABELS "")
# What it asks of the program the others have shown to sanitizers.
set_tests_properties("cli: check_rules" PROPERTIES LABELS release-only)
# These do not go by the clock.
foreach(case usage bad_world bad_trace bad_map explain rules open_operator own_world check_rules)
  set_tests_properties("cli: ${case}" PROPERTIES RUN_SERIAL OFF)
endforeach()
# Nor has it much to spare beside others.
set_tests_properties("cli: generated_map" "cli: generated_trace" PROPERTIES RUN_SERIAL ON)
foreach(mode leak stale field order unsent unsaid)
  add_test(NAME "check: --break ${mode} makes demo --check end with 3"
    COMMAND sh ${cli} break $<TARGET_FILE:purview_breakable_program> ${mode})
  # The spoiled server is a server: sanitizers have looked at it. Beside others it is found out later, and all the same.
  set_tests_properties("check: --break ${mode} makes demo --check end with 3" PROPERTIES TIMEOUT 600 LABELS release-only)
endforeach()
add_test(NAME "cli: the released program has no --break" COMMAND sh ${cli} no_break ${program})

# Recordings: lived again, and read by a second program, written from the papers alone.
set(conformance ${CMAKE_CURRENT_SOURCE_DIR}/conformance/conformance_test.sh)
add_test(NAME "conformance: every bit of a simulated server is as the paper says, no enter is lacking or doubled (N29 P17)"
  COMMAND sh ${conformance} sim $<TARGET_FILE:purview_sim>)
add_test(NAME "conformance: every bit of a demo is as the paper says, and is sent again by a replay"
  COMMAND sh ${conformance} demo ${program})
add_test(NAME "conformance: commands, corrections and groups that arrive in pieces are as the paper says (O16 O18)"
  COMMAND sh ${conformance} inputs $<TARGET_FILE:purview_tests>)
add_test(NAME "conformance: clients of a spoiled server hold what was sent, and the sound one sends other bytes"
  COMMAND sh ${conformance} spoiled $<TARGET_FILE:purview_breakable_program> ${program})
add_test(NAME "conformance: the decoder refuses what the paper does not allow"
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/conformance/decoder_test.py)
add_test(NAME "conformance: the decoder refuses calls that the paper does not allow"
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/conformance/calls_test.py)
set_tests_properties(
  "conformance: every bit of a demo is as the paper says, and is sent again by a replay"
  "conformance: clients of a spoiled server hold what was sent, and the sound one sends other bytes"
  PROPERTIES TIMEOUT 600 ${serial})

add_test(NAME "guards: what is shipped has no switch that takes one away, and each is in docs/guards.md"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/guards_test.sh ${CMAKE_CXX_COMPILER} ${program} $<TARGET_FILE:purview>)
add_test(NAME "layers: an include against the direction is found" COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/layers_test.sh)
add_test(NAME "layers: no include of ours runs against the direction"
  COMMAND python3 tools/check_layers.py src include games apps WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "test files: a source without a test file of its own is found"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/tests_test.sh)
add_test(NAME "test files: each source has one, or is in a list that only shrinks"
  COMMAND python3 tools/check_tests.py WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "tools: the check of assertions finds modules with few"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/assertions_test.sh)
add_test(NAME "tools: the check of classes finds large ones"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/classes_test.sh)
add_test(NAME "tools: no class is larger than allowed"
  COMMAND python3 tools/check_classes.py src include WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties("tools: the check of classes finds large ones" "tools: no class is larger than allowed"
  PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:")
add_test(NAME "modules: web/prebuilt was built from these sources"
  COMMAND sh tools/wasm_sources.sh WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "modules: a source that changed since the build is found"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/wasm_sources_test.sh)
add_test(NAME "dev: help is there before anything is installed or built, and is the program's own"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/help_test.sh ${PROJECT_BINARY_DIR})
add_test(NAME "dev: missing packages are named by capability, the first known one is installed"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/need_test.sh)
add_test(NAME "web: no script calls what Node 18 and the browsers of its time lack"
  COMMAND sh tools/check_scripts.sh web tests/browser bench examples WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "web: a script that calls what Node 18 lacks is found"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/scripts_test.sh)
add_test(NAME "coverage: a line counts only when a test of it passed and checked something"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/coverage_test.sh)
add_test(NAME "world: the vale is what its script makes" COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/vale_test.sh)
add_test(NAME "package: an installed Purview is found and used"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/consumer/consumer_test.sh ${PROJECT_BINARY_DIR})
add_test(NAME "readme: the sample compiles and runs"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/readme_test.sh ${PROJECT_BINARY_DIR})
set_tests_properties("package: an installed Purview is found and used" "readme: the sample compiles and runs"
  PROPERTIES TIMEOUT 600 LABELS release-only)
# Of these next to nothing is ours that a sanitizer could look at.
set_tests_properties(
  "conformance: every bit of a simulated server is as the paper says, no enter is lacking or doubled (N29 P17)"
  "conformance: the decoder refuses what the paper does not allow"
  "conformance: the decoder refuses calls that the paper does not allow"
  "modules: web/prebuilt was built from these sources" "modules: a source that changed since the build is found"
  "dev: help is there before anything is installed or built, and is the program's own"
  "dev: missing packages are named by capability, the first known one is installed"
  "web: no script calls what Node 18 and the browsers of its time lack" "web: a script that calls what Node 18 lacks is found"
  "layers: an include against the direction is found" "layers: no include of ours runs against the direction"
  "test files: a source without a test file of its own is found"
  "test files: each source has one, or is in a list that only shrinks"
  "coverage: a line counts only when a test of it passed and checked something" "world: the vale is what its script makes"
  PROPERTIES LABELS release-only)
# The page. `page`: what it draws; `rules`, `why`: an operator's panels; `drive`: prediction and rewind.
set(browser ${CMAKE_CURRENT_SOURCE_DIR}/browser)
set(browser_page "browser: the page shows what its client holds, and survives a restart")
set(browser_rules "browser: half the radius on a slider is half the bytes, and revert brings them back")
set(browser_why "browser: why one knows of another is told, for the seen, the far and the cloaked")
set(browser_drive "browser: a cart is driven on a bad line, hardly ever visibly corrected, and its shots are told")
set(browser_phone "browser: on a phone every panel can be used, and a stopped server is named as long as it is away")
foreach(case page rules why drive phone)
  add_test(NAME "${browser_${case}}"
    COMMAND node ${browser}/${case}_test.mjs ${program} ${PROJECT_SOURCE_DIR}/build/artifacts)
  set_tests_properties("${browser_${case}}" PROPERTIES TIMEOUT 600 RUN_SERIAL ON LABELS browser)
endforeach()
add_test(NAME "browser: the page of docs/your-page.md joins, draws, walks and comes back, from a site of its own"
  COMMAND node ${browser}/own_page_test.mjs ${program} ${PROJECT_SOURCE_DIR}/build/artifacts ${PROJECT_SOURCE_DIR}
    ${wasm_dir}/purview_client.wasm)
set_tests_properties("browser: the page of docs/your-page.md joins, draws, walks and comes back, from a site of its own"
  PROPERTIES TIMEOUT 600 RUN_SERIAL ON LABELS browser)
add_test(NAME "web: types are found, hold, and name what is there"
  COMMAND node ${browser}/types_test.mjs ${PROJECT_SOURCE_DIR}/web)
set_tests_properties("web: types are found, hold, and name what is there" PROPERTIES LABELS browser)
foreach(case step_text why_words why_question rule_draft operator_channel operator_page walk reconnect)
  add_test(NAME "page: ${case}" COMMAND node ${browser}/${case}_test.mjs ${PROJECT_SOURCE_DIR}/web)
  set_tests_properties("page: ${case}" PROPERTIES LABELS browser)
endforeach()
add_test(NAME "web: a client called at odd moments, without timers, with failing listeners, in another world"
  COMMAND node ${browser}/client_test.mjs ${PROJECT_SOURCE_DIR}/web ${wasm_dir}/purview_client.wasm ${program})
set_tests_properties("web: a client called at odd moments, without timers, with failing listeners, in another world"
  PROPERTIES TIMEOUT 600 LABELS browser)
add_test(NAME "web: roots, relations and cells of the client in JavaScript (O42)"
  COMMAND node ${browser}/client_groups_test.mjs ${PROJECT_SOURCE_DIR}/web ${wasm_dir}/purview_client.wasm)

# Without Node, one of its packages or a browser: skipped, and the line says what is missing.
find_program(PURVIEW_NODE node)
get_property(all_tests DIRECTORY PROPERTY TESTS)
foreach(name IN LISTS all_tests)
  if(name MATCHES "^(browser|web|page): " AND NOT name MATCHES "script")
    set_tests_properties("${name}" PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:")
    if(NOT PURVIEW_NODE)
      set_tests_properties("${name}" PROPERTIES DISABLED ON)
    endif()
  endif()
endforeach()
