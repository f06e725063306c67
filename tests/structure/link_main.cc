// Linked with the whole archive of one library and what that library declares: an undefined symbol
// means that it uses more than it says.
int main() {
  return 0;
}
