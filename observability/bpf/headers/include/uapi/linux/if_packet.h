/* BCC includes it; we read no packet. */
