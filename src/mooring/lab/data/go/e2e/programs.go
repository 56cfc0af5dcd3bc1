//go:build never

// Names what is built, so that go.mod holds the modules which it needs: the suite is a test, agnhost a program.
package programs

import (
	_ "k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/images/agnhost"
)
