// What stands only in development builds is off, unless a test turns it on.
(globalThis as { DEV?: boolean }).DEV = false;
