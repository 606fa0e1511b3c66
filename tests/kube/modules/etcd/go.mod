// The store of the test cluster; apart from the others, because it wants other versions of what they share.
module tangram.test/etcd

go 1.26.0

require go.etcd.io/etcd/server/v3 v3.6.16

tool go.etcd.io/etcd/server/v3
