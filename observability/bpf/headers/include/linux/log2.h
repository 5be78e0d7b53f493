/* BCC includes it; we take no logarithm. */
