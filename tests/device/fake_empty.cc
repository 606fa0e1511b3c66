// A shared library that is no libdcmi.so at all.
extern "C" int something_else() {
  return 0;
}
