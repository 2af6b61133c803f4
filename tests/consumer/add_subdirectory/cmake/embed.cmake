message(FATAL_ERROR "this is the game's")
