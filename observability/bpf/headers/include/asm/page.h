/* The unit in which BCC counts a ring buffer; a multiple of 16 of them fits larger pages too. */
#define PAGE_SIZE 4096
