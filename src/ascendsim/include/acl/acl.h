/* AscendCL: the header that programs include. */
#ifndef ASCENDSIM_ACL_H
#define ASCENDSIM_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 13
#define ACL_PATCH_VERSION 0

/* Counted; from the second call on it returns ACL_ERROR_REPEAT_INITIALIZE. `configPath` may be NULL. */
aclError aclInit(const char* configPath);
/* Gives back everything, whatever the count. */
aclError aclFinalize(void);
/* Counts down; gives back everything at zero. 9.x */
aclError aclFinalizeReference(uint64_t* refCount);

#ifdef __cplusplus
}
#endif

#endif
