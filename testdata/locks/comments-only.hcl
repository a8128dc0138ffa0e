# Copyright Example Ltd.

/* nothing
   is locked */