# Tests of whole programs.
purview_program(purview_breakable_program)
target_compile_definitions(purview_breakable_program PRIVATE PURVIEW_BREAKABLE)
target_sources(purview_breakable_program PRIVATE $<TARGET_OBJECTS:purview_breakable>)

# -- whole programs --------------------------------------------------------------------------------------
set(program $<TARGET_FILE:purview_program>)
set(cli ${CMAKE_CURRENT_SOURCE_DIR}/cli/cli_test.sh)
# Builds with sanitizers skip the speed checks, so other tests may run in parallel.
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
# Checks 160 clients in real time, which is too slow with the thread sanitizer.
set_tests_properties("cli: generated_map" PROPERTIES LABELS "")
# The other cases already run its code with sanitizers.
set_tests_properties("cli: check_rules" PROPERTIES LABELS release-only)
# These do not depend on timing.
foreach(case usage bad_world bad_trace bad_map explain rules open_operator own_world check_rules)
  set_tests_properties("cli: ${case}" PROPERTIES RUN_SERIAL OFF)
endforeach()
# These need most of the machine, so no other test runs in parallel.
set_tests_properties("cli: generated_map" "cli: generated_trace" PROPERTIES RUN_SERIAL ON)
foreach(mode leak stale field order unsent unsaid)
  add_test(NAME "check: --break ${mode} makes demo --check end with 3"
    COMMAND sh ${cli} break $<TARGET_FILE:purview_breakable_program> ${mode})
  # Other tests already run this server code with sanitizers. In parallel with other tests the fault is detected
  # later, but it is detected.
  set_tests_properties("check: --break ${mode} makes demo --check end with 3" PROPERTIES TIMEOUT 600 LABELS release-only)
endforeach()
add_test(NAME "cli: the released program has no --break" COMMAND sh ${cli} no_break ${program})

# Recordings are replayed, and decoded by a second program that was written from the specifications alone.
set(conformance ${CMAKE_CURRENT_SOURCE_DIR}/conformance/conformance_test.sh)
add_test(NAME "conformance: a simulated server follows the protocol, each enter once (N29 P17)"
  COMMAND sh ${conformance} sim $<TARGET_FILE:purview_sim>)
add_test(NAME "conformance: a demo follows the protocol, and a replay sends the same bytes"
  COMMAND sh ${conformance} demo ${program})
add_test(NAME "conformance: inputs, corrections and split groups follow the protocol (O16 O18)"
  COMMAND sh ${conformance} inputs $<TARGET_FILE:purview_tests>)
add_test(NAME "conformance: a recording with an injected fault decodes, its replay differs"
  COMMAND sh ${conformance} faulty_server $<TARGET_FILE:purview_breakable_program> ${program})
add_test(NAME "conformance: the decoder refuses what the protocol does not allow"
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/conformance/decoder_test.py)
add_test(NAME "conformance: the functions of encrypted packets equal the RFCs, and the vectors equal them"
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/conformance/encryption_test.py)
add_test(NAME "conformance: the decoder refuses RPCs that the protocol does not allow"
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/conformance/calls_test.py)
set_tests_properties(
  "conformance: a demo follows the protocol, and a replay sends the same bytes"
  "conformance: a recording with an injected fault decodes, its replay differs"
  PROPERTIES TIMEOUT 600 ${serial})

add_test(NAME "guards: shipped files cannot disable a guard, docs/guards.md lists all guards"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/guards_test.sh ${CMAKE_CXX_COMPILER} ${program} $<TARGET_FILE:purview>)
add_test(NAME "layers: an include against the order is reported"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/layers_test.sh)
add_test(NAME "layers: no include in this project violates the layer order"
  COMMAND python3 tools/check_layers.py src include games apps WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "test files: a source without its own test file is reported"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/tests_test.sh)
add_test(NAME "test files: each source has one or is in the list of exceptions"
  COMMAND python3 tools/check_tests.py WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "tools: the assertion check reports modules with too few assertions"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/assertions_test.sh)
add_test(NAME "tools: the word check counts prose and nothing else"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/words_test.sh)
add_test(NAME "tools: the class check reports large classes"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/classes_test.sh)
add_test(NAME "tools: no class is larger than allowed"
  COMMAND python3 tools/check_classes.py src include WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties("tools: the class check reports large classes" "tools: no class is larger than allowed"
  PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:")
add_test(NAME "modules: web/prebuilt was built from these sources"
  COMMAND sh tools/wasm_sources.sh WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "modules: a source that changed since the build is reported"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/wasm_sources_test.sh)
add_test(NAME "docs: pages are rewritten for the site, wrong links and records are reported"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/docs_test.sh)
add_test(NAME "docs: each page is in the navigation, links lead to files, reference pages are complete"
  COMMAND python3 tools/docs/build_docs.py --pages-only WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "dev: help needs no installation or build and equals the program's help"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/help_test.sh ${PROJECT_BINARY_DIR})
add_test(NAME "dev: missing packages are listed by capability, the first known is installed"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/need_test.sh)
add_test(NAME "web: no script uses APIs that Node 18 or browsers of its time lack"
  COMMAND sh tools/check_scripts.sh web tests/browser tools bench examples WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME "web: a script that uses an API missing in Node 18 is reported"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/scripts_test.sh)
add_test(NAME "coverage: a requirement counts only if its test passed with a check"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/coverage_test.sh)
add_test(NAME "world: vale.json equals the output of its generator"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/vale_test.sh)
add_test(NAME "package: an installed Purview can be found and used"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/consumer/consumer_test.sh ${PROJECT_BINARY_DIR})
add_test(NAME "package: a project that contains Purview builds all of it"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/consumer/consumer_test.sh ${PROJECT_BINARY_DIR} --whole)
add_test(NAME "readme: the sample compiles and runs"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/readme_test.sh ${PROJECT_BINARY_DIR})
add_test(NAME "tutorial: the page for C++ leads to the examples, with an installed Purview"
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/tutorial_cpp_test.sh fast ${PROJECT_BINARY_DIR})
set_tests_properties("package: an installed Purview can be found and used" "readme: the sample compiles and runs"
  "tutorial: the page for C++ leads to the examples, with an installed Purview"
  PROPERTIES TIMEOUT 600 LABELS release-only)
set_tests_properties("package: a project that contains Purview builds all of it" PROPERTIES TIMEOUT 600 LABELS long)
# These run almost no code of this project that a sanitizer could check.
set_tests_properties(
  "conformance: a simulated server follows the protocol, each enter once (N29 P17)"
  "conformance: the decoder refuses what the protocol does not allow"
  "conformance: the decoder refuses RPCs that the protocol does not allow"
  "modules: web/prebuilt was built from these sources" "modules: a source that changed since the build is reported"
  "docs: pages are rewritten for the site, wrong links and records are reported"
  "docs: each page is in the navigation, links lead to files, reference pages are complete"
  "dev: help needs no installation or build and equals the program's help"
  "dev: missing packages are listed by capability, the first known is installed"
  "web: no script uses APIs that Node 18 or browsers of its time lack"
  "web: a script that uses an API missing in Node 18 is reported"
  "layers: an include against the order is reported" "layers: no include in this project violates the layer order"
  "test files: a source without its own test file is reported"
  "test files: each source has one or is in the list of exceptions"
  "coverage: a requirement counts only if its test passed with a check"
  "world: vale.json equals the output of its generator"
  PROPERTIES LABELS release-only)
# The page. `page`: drawing; `rules`, `why`: the operator's panels; `drive`: prediction and lag compensation;
# `phone`: layout and fingers on a small screen; `first`, `tour`: what a first visitor sees.
set(browser ${CMAKE_CURRENT_SOURCE_DIR}/browser)
set(browser_page "browser: the page draws its client's ghosts and survives a server restart")
set(browser_rules "browser: halving the radius slider halves the bytes, and revert restores them")
set(browser_why "browser: the why panel explains visible, distant and cloaked entities")
set(browser_drive "browser: driving on a bad link has few visible corrections, shots are listed")
set(browser_phone "browser: every panel works on a phone, and a server stop stays reported")
set(browser_first "browser: the first view shows and names what is sent and what is withheld")
set(browser_tour "browser: each step of the tour ends when it is done, and the tour covers nothing")
foreach(case page rules why drive phone first tour)
  add_test(NAME "${browser_${case}}"
    COMMAND node ${browser}/${case}_test.mjs ${program} ${PROJECT_SOURCE_DIR}/build/artifacts)
  set_tests_properties("${browser_${case}}" PROPERTIES TIMEOUT 600 RUN_SERIAL ON LABELS browser)
endforeach()
add_test(NAME "browser: the docs/your-page.md page works from another site and reconnects"
  COMMAND node ${browser}/own_page_test.mjs ${program} ${PROJECT_SOURCE_DIR}/build/artifacts ${PROJECT_SOURCE_DIR}
    ${wasm_dir}/purview_client.wasm)
set_tests_properties("browser: the docs/your-page.md page works from another site and reconnects"
  PROPERTIES TIMEOUT 600 RUN_SERIAL ON LABELS browser)
set(browser_tutorial "browser: each step of docs/tutorial-browser.md does what the page claims")
add_test(NAME "${browser_tutorial}"
  COMMAND node ${browser}/tutorial_test.mjs ${program} ${PROJECT_SOURCE_DIR}/build/artifacts ${PROJECT_SOURCE_DIR}
    ${wasm_dir}/purview_client.wasm)
set_tests_properties("${browser_tutorial}" PROPERTIES TIMEOUT 600 RUN_SERIAL ON LABELS browser)
add_test(NAME "web: type declarations are found, compile and match the exports"
  COMMAND node ${browser}/types_test.mjs ${PROJECT_SOURCE_DIR}/web)
set_tests_properties("web: type declarations are found, compile and match the exports" PROPERTIES LABELS browser)
foreach(case step_text why_words why_question rule_draft operator_channel operator_page walk reconnect withheld tour_states)
  add_test(NAME "page: ${case}" COMMAND node ${browser}/${case}_test.mjs ${PROJECT_SOURCE_DIR}/web)
  set_tests_properties("page: ${case}" PROPERTIES LABELS browser)
endforeach()
add_test(NAME "web: a client handles odd call times, missing timers and failing listeners"
  COMMAND node ${browser}/client_test.mjs ${PROJECT_SOURCE_DIR}/web ${wasm_dir}/purview_client.wasm ${program})
set_tests_properties("web: a client handles odd call times, missing timers and failing listeners"
  PROPERTIES TIMEOUT 600 LABELS browser)
add_test(NAME "web: roots, relations and cells of the client in JavaScript (O42)"
  COMMAND node ${browser}/client_groups_test.mjs ${PROJECT_SOURCE_DIR}/web ${wasm_dir}/purview_client.wasm)

# Without Node, one of its packages or a browser, these tests are skipped and print what is missing.
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
