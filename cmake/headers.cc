// Empty: the target whose precompiled headers all libraries share needs a source (Palimpsest.cmake).
